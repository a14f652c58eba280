// A builder that is opened by its first call.
import type { Builder } from '../../ports/provider/builder.ts';

type Opened = Pick<Builder, 'lock' | 'build' | 'find'> & Required<Pick<Builder, 'tools'>>;

/** `look` is for what may write nothing: it opens no store. */
export function lazyBuilder(
  open: () => Promise<Opened>,
  look: () => Promise<Pick<Opened, 'tools'>> = open,
): Builder {
  return {
    methods: ['assemble'],
    lock: async (...args) => (await open()).lock(...args),
    build: async (...args) => (await open()).build(...args),
    find: async (...args) => (await open()).find(...args),
    tools: {
      relock: async (...args) => (await open()).tools.relock(...args),
      lockFile: async (...args) => (await open()).tools.lockFile(...args),
      hotfix: async (...args) => (await open()).tools.hotfix(...args),
      outdated: async (...args) => (await open()).tools.outdated(...args),
      whyRebuild: async (...args) => (await open()).tools.whyRebuild(...args),
      preview: async (...args) => (await look()).tools.preview(...args),
      previewHotfix: async (...args) => (await look()).tools.previewHotfix(...args),
    },
  };
}
