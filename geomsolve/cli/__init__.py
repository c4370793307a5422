"""The command line: flags to a problem, a report to text or JSON.  The only room that prints."""
