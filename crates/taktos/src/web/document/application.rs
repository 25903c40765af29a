//! Applications: what they declare, and how they are (S1-9).

use controller::northbound::{
    ApplicationKind, ApplicationSummary, MAX_APPLICATION_NAME, Manifest, Permission,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Unusable;

/// The applications that are loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApplicationsDocument {
    /// In the order of their numbers.
    pub applications: Vec<ApplicationSummary>,
}

/// What an application declares before it is loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ManifestDocument {
    /// Its name, unique among those that are loaded; a built-in application is
    /// called like its kind.
    pub name: String,
    /// What it is: `external` if left out, or the name of a built-in one.
    #[serde(default)]
    pub kind: Option<String>,
    /// What it may see and do, as in `see-topology`; what it needs if it is built in
    /// and this is left out.
    #[serde(default)]
    pub permissions: Option<Vec<String>>,
    /// Whose rules go first where they conflict: the higher one's.
    #[serde(default)]
    pub priority: u8,
}

impl TryFrom<ManifestDocument> for Manifest {
    type Error = Unusable;

    fn try_from(document: ManifestDocument) -> Result<Self, Unusable> {
        let name = document.name;
        let length = name.len();
        if !(1..=MAX_APPLICATION_NAME).contains(&length) {
            let reason = format!("a name has 1 to {MAX_APPLICATION_NAME} bytes, not {length}");
            return Err(Unusable::new("name", reason));
        }
        let kind = document.kind.as_deref().unwrap_or("external");
        let kind = ApplicationKind::named(kind).ok_or_else(|| {
            let built_in = ApplicationKind::BUILT_IN.map(ApplicationKind::name);
            let known = built_in.join("`, `");
            let reason = format!("`{kind}` is none of `external`, `{known}`");
            Unusable::new("kind", reason)
        })?;
        let permissions = match document.permissions {
            Some(names) => names.iter().map(|name| permission(name)).collect(),
            None => Ok(kind.needs().iter().copied().collect()),
        };
        Ok(Self {
            name,
            kind,
            permissions: permissions?,
            priority: document.priority,
        })
    }
}

fn permission(name: &str) -> Result<Permission, Unusable> {
    Permission::named(name).ok_or_else(|| {
        let known = Permission::ALL.map(Permission::name).join("`, `");
        Unusable::new("permissions", format!("`{name}` is none of `{known}`"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Manifest, Unusable> {
        let document: ManifestDocument = serde_json::from_str(text).unwrap();
        document.try_into()
    }

    #[test]
    fn an_application_from_elsewhere_has_what_it_declares_and_nothing_else() {
        let manifest = read(r#"{"name": "planner", "permissions": ["see-hosts"]}"#).unwrap();

        assert_eq!(manifest.kind, ApplicationKind::External);
        assert_eq!(manifest.permissions, [Permission::SeeHosts].into());
        let bare = read(r#"{"name": "planner"}"#).unwrap();
        assert!(bare.permissions.is_empty());
    }

    #[test]
    fn words_that_nobody_knows_are_refused_with_those_that_are_known() {
        let kind = read(r#"{"name": "a", "kind": "router"}"#).unwrap_err();
        let permission = read(r#"{"name": "a", "permissions": ["all"]}"#).unwrap_err();

        assert!(kind.reason.contains("`proactive-routes`"), "{kind}");
        assert!(permission.reason.contains("`write-rules`"), "{permission}");
        assert_eq!(read(r#"{"name": ""}"#).unwrap_err().field, "name");
    }
}
