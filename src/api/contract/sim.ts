// The simulated provider.
import * as z from 'zod';
import { name, pageOf } from '../schemas/common.ts';
import { addFaultRequest, fault, setSimTimeRequest, simTime } from '../schemas/sim.ts';
import { endpoint } from './endpoint.ts';

export const simContract = {
  listFaults: endpoint({
    tag: 'Simulation',
    summary: 'The faults that were ordered',
    role: 'viewer',
    effect: 'read',
    status: 200,
    response: pageOf(fault),
  }),
  addFault: endpoint({
    tag: 'Simulation',
    summary: 'Order a fault at a call of the simulated provider',
    role: 'admin',
    effect: 'write',
    body: addFaultRequest,
    status: 201,
    response: fault,
  }),
  removeFault: endpoint({
    tag: 'Simulation',
    summary: 'Take back a fault',
    role: 'admin',
    effect: 'write',
    path: z.strictObject({ fault: name }),
    status: 200,
    response: fault,
  }),
  showSimTime: endpoint({
    tag: 'Simulation',
    summary: 'The time in the simulated world, and how fast it runs',
    role: 'viewer',
    effect: 'read',
    status: 200,
    response: simTime,
  }),
  setSimTime: endpoint({
    tag: 'Simulation',
    summary: 'Change how fast the simulated time runs, or move it forward',
    role: 'admin',
    effect: 'write',
    body: setSimTimeRequest,
    status: 200,
    response: simTime,
  }),
};
