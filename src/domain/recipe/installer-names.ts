// The words of a recipe that the installer and the agent need. They are apart from the recipe's types, which follow from
// its schema, so that the agent does not depend on zod.

/** Resource limits by the name that limits.conf has for them, with that of systemd. */
export const limitNames: Readonly<Record<string, string>> = {
  core: 'CORE',
  cpu: 'CPU',
  data: 'DATA',
  fsize: 'FSIZE',
  memlock: 'MEMLOCK',
  msgqueue: 'MSGQUEUE',
  nice: 'NICE',
  nofile: 'NOFILE',
  nproc: 'NPROC',
  rss: 'RSS',
  rtprio: 'RTPRIO',
  sigpending: 'SIGPENDING',
  stack: 'STACK',
};

export type SourceKind = 'package' | 'url' | 'file' | 'folder' | 'tar' | 'oci';
