"""Many problems: files in, one JSON object a line out, through worker processes; nothing is lost.

gather.py     paths -> entries (questions/documents.py), checked
rows.py       entry + outcome -> row, status, exit code
ledger.py     rows -> a JSONL file that a kill at any moment leaves readable; resume
workers.py    problems -> outcomes, through processes of this machine (joblib) or of a dask cluster
child.py      the process in which a worker solves
"""
