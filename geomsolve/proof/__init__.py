"""Everything that proves: certificates, uniqueness, collapse, crossings.  numpy and scipy only."""
