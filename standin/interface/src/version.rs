//! Versions, as variables of the environment have them.

/// The `N` numbers of a version, such as `12.8.4`. The first is at least one, as there was no other; those behind it are below 100, as
/// libraries write all in one number.
pub fn version<const N: usize>(text: &str) -> Option<[u32; N]> {
    let numbers: Result<Vec<u8>, _> = text.trim().split('.').map(str::parse).collect();
    let numbers: [u8; N] = numbers.ok()?.try_into().ok()?;
    let (first, rest) = numbers.split_first()?;
    (*first > 0 && rest.iter().all(|n| *n < 100)).then_some(numbers.map(u32::from))
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn versions_have_as_many_numbers_as_are_asked_for() {
        assert_eq!(version("12.8.4"), Some([12, 8, 4]));
        assert_eq!(version(" 2.30.0 "), Some([2, 30, 0]));
        assert_eq!(version("12.4"), Some([12, 4]));
        assert_eq!(version::<3>("12.4"), None);
        assert_eq!(version::<2>("12.4.1"), None);
        for text in ["", "12", "12.", ".4", "0.4", "12.100", "300.1", "-1.2", "12.x", "1 2.4"] {
            assert_eq!(version::<2>(text), None, "{text}");
        }
    }
}
