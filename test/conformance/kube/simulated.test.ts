import { startKubelet } from '../../../src/kube/sim/kubelet.ts';
import { simulateCluster } from '../../../src/kube/sim/simulated-cluster.ts';
import { createVirtualClock } from '../../support/sim/virtual-clock.ts';
import { describeDrain } from './drain-suite.ts';

describeDrain('the simulated cluster', async () => {
  const clock = createVirtualClock({ auto: true });
  const cluster = simulateCluster(clock);
  const kubelet = startKubelet(cluster.apiAs('kubelet'), clock);
  return {
    ...{ api: cluster.apiAs('imago'), clock },
    async cordonAsOperator(name, isCordoned) {
      const spec = { unschedulable: isCordoned ? true : null };
      await cluster.apiAs('kubectl').patch('nodes', { name }, { spec });
    },
    pass: () => clock.sleep(100),
    close: () => kubelet.stop(),
  };
});
