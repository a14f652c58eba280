// The media types in manifests: OCI's own, Imago's, and those of cosign and in-toto.
export const mediaTypes = {
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  index: 'application/vnd.oci.image.index.v1+json',
  imageConfig: 'application/vnd.oci.image.config.v1+json',
  empty: 'application/vnd.oci.empty.v1+json',
  dockerManifest: 'application/vnd.docker.distribution.manifest.v2+json',
  dockerList: 'application/vnd.docker.distribution.manifest.list.v2+json',

  disk: 'application/vnd.imago.disk.v1',
  diskConfig: 'application/vnd.imago.disk.config.v1+json',
  diskIndex: 'application/vnd.imago.disk.index.v1+json',
  diskPack: 'application/vnd.imago.disk.pack.v1',

  simpleSigning: 'application/vnd.dev.cosign.simplesigning.v1+json',
  dsse: 'application/vnd.dsse.envelope.v1+json',
  inToto: 'application/vnd.in-toto+json',
  bundle: 'application/vnd.dev.sigstore.bundle.v0.3+json',
} as const;

export const annotationKeys = {
  tag: 'org.opencontainers.image.ref.name',
  title: 'org.opencontainers.image.title',
  created: 'org.opencontainers.image.created',
  diskSha256: 'vnd.imago.disk.sha256',
  diskSize: 'vnd.imago.disk.size',
  /** In index.json alone: saves reading every manifest to find what is attached to one. */
  subject: 'vnd.imago.subject',
  signature: 'dev.cosignproject.cosign/signature',
  predicateType: 'predicateType',
  bundleContent: 'dev.sigstore.bundle.content',
  bundlePredicate: 'dev.sigstore.bundle.predicateType',
} as const;
