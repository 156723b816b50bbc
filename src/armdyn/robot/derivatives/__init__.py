"""Programs of derivatives that are put together from several."""
