"""scikit-learn estimators: participants with models and rows of their own, and one agreed answer."""
