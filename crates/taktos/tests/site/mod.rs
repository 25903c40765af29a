//! An authority for tests, and what it certifies.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};

/// An authority and what it certified, as files and as text.
pub struct Site {
    authority: CertifiedIssuer<'static, KeyPair>,
}

/// A key with its certificate, in PEM.
pub struct Papers {
    pub key: String,
    pub certificate: String,
}

impl Site {
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        // No two authorities have the same name.
        let name = format!("authority {:?}", &key.public_key_raw()[1..9]);
        params.distinguished_name.push(DnType::CommonName, name);
        Self {
            authority: CertifiedIssuer::self_signed(params, key).unwrap(),
        }
    }

    pub fn certify(&self, name: &str) -> Papers {
        self.sign(CertificateParams::new(vec![name.to_owned()]).unwrap())
    }

    /// Certifies a name until the end of 2020.
    pub fn certify_for_the_past(&self, name: &str) -> Papers {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2020, 12, 31);
        self.sign(params)
    }

    /// Returns the authority's own certificate, in PEM.
    pub fn authority(&self) -> String {
        self.authority.pem()
    }

    fn sign(&self, params: CertificateParams) -> Papers {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.authority).unwrap();
        Papers {
            key: key.serialize_pem(),
            certificate: certificate.pem(),
        }
    }
}
