"""From draws and labels to numbers: estimators, covariance, intervals, regions."""
