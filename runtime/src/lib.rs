//! Executes plans; knows neither IR nor strategy.
