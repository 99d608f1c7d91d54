"""From a traced run and measured algorithms to the run time that each of them would give."""
