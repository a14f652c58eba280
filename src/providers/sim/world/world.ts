// The simulated world's file.
import { openWorldFile, type World } from '../../common/state-database.ts';
import { worldSchema, worldSchemaVersion } from './schema.ts';

export type { Row, World, WorldClock } from '../../common/state-database.ts';

/** Opens the world, or makes an empty one. Without a file it lives and dies with the process. */
export function openWorld(file: string | undefined): World {
  return openWorldFile(file, {
    name: 'The simulated world',
    unusable: 'sim-world-unusable',
    schema: worldSchema,
    version: worldSchemaVersion,
  });
}
