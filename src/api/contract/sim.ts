// The simulated provider.
import { pageOf } from '../schemas/common.ts';
import { addFaultRequest, fault, setSimTimeRequest, simTime } from '../schemas/sim.ts';
import { create, endpoints, read, write } from './endpoint.ts';

export const simContract = endpoints('Simulation', {
  listFaults: read('GET /v1/sim/faults', 'List injected faults', { response: pageOf(fault) }),
  addFault: create('POST /v1/sim/faults', 'Inject a fault into a call of the simulated provider', {
    role: 'admin',
    body: addFaultRequest,
    response: fault,
  }),
  removeFault: write('DELETE /v1/sim/faults/{fault}', 'Remove an injected fault', {
    role: 'admin',
    response: fault,
  }),
  showSimTime: read('GET /v1/sim/time', 'Show the simulated time and its speed', { response: simTime }),
  setSimTime: write('POST /v1/sim/time', 'Change the speed of the simulated time, or move it forward', {
    role: 'admin',
    body: setSimTimeRequest,
    response: simTime,
  }),
});
