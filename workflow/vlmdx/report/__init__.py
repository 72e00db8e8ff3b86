"""Figures of the report: each module draws one figure from artifacts; nothing is computed anew here."""
