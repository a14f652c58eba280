// Creates a provider that only builds, for a host that cannot start machines.
import { systemClock } from '../../host/system-clock.ts';
import type { Builder } from '../../ports/provider/builder.ts';
import type { Provider } from '../../ports/provider/provider.ts';

/** `remedy` describes what to do so that this host can start machines. */
export function builderProvider(builder: Builder, remedy?: string): Provider {
  return {
    name: 'local',
    ...(remedy === undefined ? {} : { remedy }),
    abilities: {
      orchestration: [],
      reimage: false,
      upgrade: false,
      protect: false,
      regions: [],
      excludeFromLatest: false,
      deletionGuard: false,
      galleryDigest: false,
      snapshots: false,
      runCommand: false,
      fencing: false,
      simulated: false,
      ownClock: false,
    },
    clock: systemClock,
    builder: { ...builder, methods: ['assemble'] },
    close: async () => undefined,
  };
}
