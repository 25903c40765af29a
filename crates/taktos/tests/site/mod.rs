//! An authority for tests, and what it certifies.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

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

    pub fn roots(&self) -> Arc<RootCertStore> {
        let mut roots = RootCertStore::empty();
        roots.add(self.authority.der().clone()).unwrap();
        Arc::new(roots)
    }

    /// Returns how a controller with these papers connects.
    pub fn client(&self, papers: Option<&Papers>) -> Arc<ClientConfig> {
        let builder = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(self.roots());
        Arc::new(match papers {
            Some(papers) => {
                let (chain, key) = papers.read();
                builder.with_client_auth_cert(chain, key).unwrap()
            }
            None => builder.with_no_client_auth(),
        })
    }
}

impl Papers {
    pub fn read(&self) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
        let certificate = CertificateDer::from_pem_slice(self.certificate.as_bytes());
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes());
        (vec![certificate.unwrap()], key.unwrap())
    }
}

pub fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}
