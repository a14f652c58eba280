// A builder that is opened by its first call.
import type { Builder } from '../ports/provider-builder.ts';

export function lazyBuilder(open: () => Promise<Builder & Required<Pick<Builder, 'tools'>>>): Builder {
  return {
    lock: async (...args) => (await open()).lock(...args),
    build: async (...args) => (await open()).build(...args),
    find: async (...args) => (await open()).find(...args),
    tools: {
      relock: async (...args) => (await open()).tools.relock(...args),
      lockFile: async (...args) => (await open()).tools.lockFile(...args),
      hotfix: async (...args) => (await open()).tools.hotfix(...args),
      outdated: async (...args) => (await open()).tools.outdated(...args),
      whyRebuild: async (...args) => (await open()).tools.whyRebuild(...args),
    },
  };
}
