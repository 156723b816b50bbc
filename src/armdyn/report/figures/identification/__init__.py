"""Figures of a fit: predictions, residuals, friction, filters, estimates."""
