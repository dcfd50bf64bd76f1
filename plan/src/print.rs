//! Listings for people.
