"""What a contribution must be: each module yields a Problem for each breach of the rules that CONTRIBUTING.md lists by id."""
