//! How many descriptors this process may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit as far as it may be raised by anybody, and returns it; nothing
/// if there is none.
pub fn raise_limit() -> Option<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let highest = Rlimit {
        current: maximum,
        maximum,
    };
    match setrlimit(Resource::Nofile, highest) {
        Ok(()) => maximum,
        Err(_) => current,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_was_raised_stays_as_it_is() {
        assert_eq!(raise_limit(), raise_limit());
    }
}
