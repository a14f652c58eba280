// Commands for the simulated provider.
import { faultKinds } from '../../domain/sim/fault-kind.ts';
import { group, list, write } from '../run/builders.ts';
import { readNumber } from '../spec/command.ts';
import { usage } from '../spec/parse.ts';

const fault = {
  summary: 'Manage injected faults',
  ...group({
    list: list('listFaults', {
      summary: 'List injected faults',
      examples: [['imago sim fault list', 'List the faults and how often each was triggered']],
      columns: [
        'id',
        'call',
        'kind',
        'name',
        ['after', ({ after }) => String(after ?? 0)],
        ['triggered', ({ hits, count }) => `${hits} of ${count ?? 1}`],
      ],
    }),
    add: write('addFault', {
      summary: 'Inject a fault into a call of the simulated provider',
      args: [
        { name: 'CALL', description: 'ROLE.METHOD, for example pools.createPool; * matches any text' },
        { name: 'KIND', description: faultKinds.join(', '), expand: readKind },
      ],
      flags: {
        name: { description: 'Apply only to calls for the resource with this name', value: 'NAME' },
        gallery: {
          description: 'Apply only to calls to this gallery, by its name at the provider',
          value: 'NAME',
        },
        after: {
          description: 'Matching calls to let succeed first (default: 0)',
          value: 'N',
          read: readNumber,
        },
        count: { description: 'Matching calls to fail (default: 1)', value: 'N', read: readNumber },
        ms: { description: 'Duration of the fault in simulated milliseconds', value: 'MS', read: readNumber },
      },
      examples: [
        ['imago sim fault add pools.setCapacity fails', 'Let the next scaling fail'],
        [
          'imago sim fault add gallery.createVersion reply-lost',
          'Let the call succeed, but lose its response',
        ],
      ],
      done: ({ id, call }) => `Fault ${id} is injected into ${call}`,
    }),
    remove: write('removeFault', {
      summary: 'Remove an injected fault',
      args: [{ name: 'FAULT', description: 'Id of the fault' }],
      examples: [['imago sim fault remove 3', 'Remove fault 3']],
      done: ({ id }) => `Fault ${id} is removed`,
    }),
  }),
};

export const command = group({ fault });

function readKind(kind: string) {
  if (faultKinds.some((known) => known === kind)) return { kind };
  throw usage(`KIND must be one of ${faultKinds.join(', ')}, not ${JSON.stringify(kind)}.`, 'sim fault add');
}
