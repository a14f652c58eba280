// Imago's own program on the image: a folder of files from the root on, taken in as one input. Its units are
// enabled here, so that a first boot finds nothing to decide.
import { lstat } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { streamInput } from '../../disk/tar/input.ts';
import { readTar } from '../../disk/tar/reader.ts';
import type { LockedInput } from '../../domain/lock/lock.ts';
import { enableUnit, packageUnits } from '../../install/enable-unit.ts';
import type { Host } from '../../install/host.ts';
import type { ContentFolder } from '../content/content-folder.ts';
import { archiveRules } from '../inputs/archive-rules.ts';
import { folderArchive } from '../inputs/folder-archive.ts';
import type { AgentBundle } from '../lock/context.ts';
import { buildEpoch } from '../lock/rules.ts';
import { deferUnits } from './deferred-units.ts';

/**
 * The folder that the agent's build leaves, as it goes on images: `usr/lib/imago/agent.js`, `usr/bin/imago-agent`,
 * `usr/lib/systemd/system/…`. Undefined when there is none: images are built without an agent then. The same
 * folder always gives the same bundle.
 */
export async function readAgentBundle(folder: string, version: string): Promise<AgentBundle | undefined> {
  const found = await lstat(folder).catch(() => undefined);
  if (found?.isDirectory() !== true) return undefined;
  return { version, archive: await buffer(folderArchive(folder, buildEpoch)) };
}

/** Unpacks the agent, enables those of its units that say where they belong, and puts off what can wait for it. */
export async function placeAgent(host: Host, agent: LockedInput, inputs: ContentFolder): Promise<void> {
  await host.unpackArchive(agent, '/', {});
  const stored = await inputs.find(agent.sha256);
  if (stored === undefined) return;
  for (const { name, text } of await unitsOf(inputs.read(stored))) {
    await host.writeText(`${packageUnits}/${name}`, text);
    await enableUnit(host, name, text, packageUnits);
  }
  await deferUnits(host);
}

const unitPath = new RegExp(`^${packageUnits.slice(1)}/([^/]+)$`);

interface AgentUnit {
  readonly name: string;
  readonly text: string;
}

async function unitsOf(archive: AsyncIterable<Uint8Array>): Promise<readonly AgentUnit[]> {
  const units: AgentUnit[] = [];
  const input = streamInput(archive);
  try {
    for await (const { entry, content } of readTar(input, archiveRules)) {
      const name = unitPath.exec(entry.path)?.[1];
      if (entry.type !== 'file' || name === undefined) continue;
      units.push({ name, text: (await buffer(content())).toString('utf8') });
    }
  } finally {
    await input.close();
  }
  return units;
}
