"""Why an input got its answer: who voted what, who changed its mind after whose answers, how close it was."""
