//! Writes what `docs/` says of the format of scenarios: the JSON Schemas, and the
//! reference at the end of `scenario.md`.

use std::path::Path;
use std::{fs, io};

const REFERENCE: &str = "## Reference\n";

fn main() -> io::Result<()> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    fs::write(docs.join("scenario.schema.json"), scenario::json_schema())?;
    fs::write(docs.join("profile.schema.json"), scenario::profile_schema())?;

    let file = docs.join("scenario.md");
    let text = fs::read_to_string(&file)?;
    let (guide, _) = text.split_once(REFERENCE).unwrap_or((&text, ""));
    fs::write(
        file,
        format!("{guide}{REFERENCE}\n{}", scenario::reference().trim_end()) + "\n",
    )
}
