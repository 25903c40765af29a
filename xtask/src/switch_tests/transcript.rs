//! What os-ken's tester prints, read line by line.
//!
//! ```text
//! match: 03_ETH_DST
//!     ethernet/ipv4/tcp-->'eth_dst=22:22:22:22:22:22,actions=output:2'     OK
//!     ethernet/ipv4/tcp-->'eth_dst=22:22:22:22:22:23,actions=output:2'     ERROR
//!         Receiving timeout: no change in tx_packets on target.
//! ---  Test end  ---
//! ```

use super::family::Family;

const END: &str = "---  Test end  ---";
const CASE_INDENT: &str = "    ";
const REASON_INDENT: &str = "        ";

/// The verdict on one case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseVerdict {
    /// The family that its file belongs to.
    pub family: Family,
    /// What its file calls itself.
    pub file: String,
    /// What the case calls itself.
    pub name: String,
    /// Why it failed, if it did.
    pub failure: Option<String>,
}

/// Reads what one tester prints.
#[derive(Debug, Default)]
pub struct Transcript {
    file: Option<(Family, String)>,
    /// A case that failed and whose reason comes with the next line.
    failed: Option<CaseVerdict>,
    ended: bool,
}

impl Transcript {
    /// Takes the next line, and returns the case whose verdict it completes.
    pub fn take(&mut self, line: &str) -> Option<CaseVerdict> {
        let line = line.trim_end();
        if let Some(mut case) = self.failed.take() {
            let reason = line.strip_prefix(REASON_INDENT);
            case.failure = Some(reason.unwrap_or("without a reason").to_owned());
            return Some(case);
        }
        if self.ended {
            return None;
        }
        if line == END {
            self.ended = true;
        } else if let Some(family) = Family::of_title(line) {
            self.file = Some((family, line.to_owned()));
        } else if let Some(case) = line.strip_prefix(CASE_INDENT) {
            return self.case(case);
        }
        None
    }

    /// Returns whether the tester has come to its end.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    fn case(&mut self, line: &str) -> Option<CaseVerdict> {
        let (name, verdict) = line.rsplit_once(' ')?;
        let (family, file) = self.file.clone()?;
        let case = CaseVerdict {
            family,
            file,
            name: name.trim_end().to_owned(),
            failure: None,
        };
        match verdict {
            "OK" => Some(case),
            "ERROR" => {
                self.failed = Some(case);
                None
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CaseVerdict, Family, Transcript};

    #[test]
    fn a_verdict_belongs_to_the_file_above_it() {
        let (cases, transcript) = read(&[
            "--- Test start ---",
            "dpid=0000000000000001 : Join target SW.",
            "action: set_field: 03_ETH_DST",
            "    ethernet/ipv4/tcp-->'eth_dst=22:22:22:22:22:22'        OK",
            "match: 37_PBB_ISID (Mask)",
            "    ethernet/itag(sid=100)-->'pbb_isid=100'                ERROR",
            "        Failed to add flows: OFPErrorMsg[type=0x04, code=0x00]",
            "---  Test end  ---",
            "match: 37_PBB_ISID (Mask)",
            "    OK(1) / ERROR(1)",
        ]);

        let passed = case(
            Family::SetField,
            "action: set_field: 03_ETH_DST",
            "ethernet/ipv4/tcp-->'eth_dst=22:22:22:22:22:22'",
            None,
        );
        let failed = case(
            Family::Match,
            "match: 37_PBB_ISID (Mask)",
            "ethernet/itag(sid=100)-->'pbb_isid=100'",
            Some("Failed to add flows: OFPErrorMsg[type=0x04, code=0x00]"),
        );
        assert_eq!(cases, [passed, failed]);
        assert!(transcript.has_ended());
    }

    #[test]
    fn a_tester_that_dies_has_not_ended() {
        let (cases, transcript) = read(&["match: 03_ETH_DST", "Traceback", "    import it"]);

        assert_eq!(cases, []);
        assert!(!transcript.has_ended());
    }

    fn read(lines: &[&str]) -> (Vec<CaseVerdict>, Transcript) {
        let mut transcript = Transcript::default();
        let cases = lines.iter().filter_map(|line| transcript.take(line));
        let cases = cases.collect();
        (cases, transcript)
    }

    fn case(family: Family, file: &str, name: &str, failure: Option<&str>) -> CaseVerdict {
        CaseVerdict {
            family,
            file: file.to_owned(),
            name: name.to_owned(),
            failure: failure.map(str::to_owned),
        }
    }
}
