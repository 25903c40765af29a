//! The page for people: its files, as they were built from `page/` and compressed
//! (`cargo xtask page`), so that building the program needs no Node.

use axum::body::{Body, Bytes};
use axum::http::Response;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName,
    HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};

use super::problem::Problem;

/// The page takes nothing from elsewhere, and runs nothing that is not in its files.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                      connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

const HEADERS: [(HeaderName, &str); 5] = [
    (CONTENT_ENCODING, "gzip"),
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    (CACHE_CONTROL, "no-cache"),
];

/// The document of the page itself.
pub const INDEX: &str = "index.html";

macro_rules! files {
    ($($name:literal: $kind:literal,)*) => {
        [$(($name, $kind, include_bytes!(concat!("../../page/", $name, ".gz")).as_slice()),)*]
    };
}

/// The files, each with its kind, compressed.
const FILES: [(&str, &str, &[u8]); 6] = files! {
    "index.html": "text/html; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "page.css": "text/css; charset=utf-8",
    "link.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
    "licences.txt": "text/plain; charset=utf-8",
};

/// Returns a file of the page, if it has one of this name.
#[must_use]
pub fn file(name: &str) -> Option<Response<Body>> {
    let (_, kind, compressed) = FILES.iter().find(|(it, _, _)| *it == name)?;
    let mut response = Response::new(Body::from(Bytes::from_static(compressed)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.extend(HEADERS.map(|(name, value)| (name, HeaderValue::from_static(value))));
    Some(response)
}

/// Returns the file with this name, or what says that there is none.
///
/// # Errors
///
/// If there is none.
pub fn served(name: &str) -> Result<Response<Body>, Problem> {
    file(name).ok_or_else(|| {
        Problem::not_found("unknown-file", format!("the page has no file {name}"))
            .help("the page is at /")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 300 kB compressed is what a slow line carries within a second.
    #[test]
    fn the_page_is_small_and_loads_nothing_from_elsewhere() {
        let bytes: usize = FILES
            .iter()
            .map(|(_, _, compressed)| compressed.len())
            .sum();

        assert!(bytes < 300_000, "{bytes} bytes");
        let page = file(INDEX).unwrap();
        let policy = page.headers()[CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(
            !policy.contains("unsafe") && !policy.contains('*'),
            "{policy}"
        );
        assert!(!policy.contains("http"), "{policy}");
        assert!(file("../Cargo.toml").is_none());
    }
}
