// A control plane that only says that it runs.
import type { ControlPlaneState } from '../../src/domain/cluster/control-plane.ts';
import type { ControlPlane } from '../../src/ports/kube/control-plane.ts';

export function fakeControlPlane(): ControlPlane {
  let state: ControlPlaneState | undefined;
  const stopped = {
    ...{ version: '1.36.3', server: 'https://127.0.0.1:9', kubeconfig: '/nonexistent/kubeconfig' },
    processes: [],
  };
  return {
    async up({ version }) {
      state = { ...stopped, ...(version && { version }), processes: [{ name: 'etcd', pid: 1 }] };
      return { ...state, uid: 'local' };
    },
    async down({ erase }) {
      state = erase ? undefined : stopped;
    },
    look: async () => state,
  };
}
