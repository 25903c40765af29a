//! Reads the frames in `tests/vectors`.

/// Returns the frames of a file: a paragraph each, in hexadecimal, with
/// comments from `#` to the end of the line.
pub(crate) fn frames(text: &str) -> Vec<Vec<u8>> {
    let mut frames = vec![Vec::new()];
    for line in text.lines() {
        let digits = line.split('#').next().unwrap().replace(' ', "");
        if line.is_empty() {
            frames.push(Vec::new());
        }
        let frame = frames.last_mut().unwrap();
        frame.extend(
            (0..digits.len())
                .step_by(2)
                .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()),
        );
    }
    frames.retain(|frame| !frame.is_empty());
    frames
}
