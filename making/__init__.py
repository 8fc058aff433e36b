"""What made the bundled data: generators of the tasks, and of the tiny model. Not installed."""
