// Machines of no pool.
import * as z from 'zod';
import { name } from '../schemas/common.ts';
import { machine, machineList } from '../schemas/machine.ts';
import { endpoint } from './endpoint.ts';

const machinePath = z.strictObject({ machine: name });

export const machinesContract = {
  listMachines: endpoint({
    tag: 'Nodes',
    summary: 'The machines of no pool, of every provider',
    role: 'viewer',
    effect: 'read',
    status: 200,
    response: machineList,
  }),
  showMachine: endpoint({
    tag: 'Nodes',
    summary: 'One machine of no pool',
    role: 'viewer',
    effect: 'read',
    path: machinePath,
    status: 200,
    response: machine,
  }),
  deleteMachine: endpoint({
    tag: 'Nodes',
    summary: 'Take a machine of no pool and its disk away',
    description: 'Also one that a test runs on: the test fails then.',
    role: 'operator',
    effect: 'write',
    path: machinePath,
    status: 200,
    response: machine,
  }),
};
