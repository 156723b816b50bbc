"""What a report says, as data: computed once, drawn by `figures`, written by `page`."""
