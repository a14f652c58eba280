// The command lines of the programs of a control plane. Everything listens on 127.0.0.1 only.
import { join } from 'node:path';
import type { Service } from './programs.ts';

export interface Ports {
  readonly api: number;
  readonly etcd: number;
  readonly peer: number;
}

/** The ranges of services and pods. The controller manager gives each node a part of the latter. */
const serviceRange = '10.96.0.0/16';
const podRange = '10.244.0.0/16';

export function flagsOf(service: Service, folder: string, { api, etcd, peer }: Ports): readonly string[] {
  const file = (name: string) => join(folder, 'pki', name);
  const etcdUrl = `https://127.0.0.1:${etcd}`;
  const peerUrl = `https://127.0.0.1:${peer}`;
  const client = [
    `--kubeconfig=${file(`${service}.kubeconfig`)}`,
    ...['--leader-elect=false', '--bind-address=127.0.0.1', '--secure-port=0'],
  ];
  switch (service) {
    case 'etcd':
      return [
        ...[`--data-dir=${join(folder, 'etcd')}`, '--name=imago', '--log-level=warn'],
        ...[`--listen-client-urls=${etcdUrl}`, `--advertise-client-urls=${etcdUrl}`],
        ...[`--listen-peer-urls=${peerUrl}`, `--initial-advertise-peer-urls=${peerUrl}`],
        ...[`--initial-cluster=imago=${peerUrl}`, '--client-cert-auth', '--peer-client-cert-auth'],
        ...[`--cert-file=${file('etcd.crt')}`, `--key-file=${file('etcd.key')}`],
        ...[`--peer-cert-file=${file('etcd.crt')}`, `--peer-key-file=${file('etcd.key')}`],
        ...[`--trusted-ca-file=${file('etcd-ca.crt')}`, `--peer-trusted-ca-file=${file('etcd-ca.crt')}`],
      ];
    case 'kube-apiserver':
      return [
        ...['--bind-address=127.0.0.1', `--secure-port=${api}`, '--endpoint-reconciler-type=none'],
        ...[`--tls-cert-file=${file('apiserver.crt')}`, `--tls-private-key-file=${file('apiserver.key')}`],
        ...[`--etcd-servers=${etcdUrl}`, `--etcd-cafile=${file('etcd-ca.crt')}`],
        ...[`--etcd-certfile=${file('etcd.crt')}`, `--etcd-keyfile=${file('etcd.key')}`],
        ...[`--client-ca-file=${file('ca.crt')}`, '--enable-bootstrap-token-auth=true'],
        ...['--authorization-mode=Node,RBAC', '--enable-admission-plugins=NodeRestriction'],
        ...['--allow-privileged=true', `--service-cluster-ip-range=${serviceRange}`],
        '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
        `--service-account-key-file=${file('accounts.pub')}`,
        `--service-account-signing-key-file=${file('accounts.key')}`,
      ];
    case 'kube-controller-manager':
      return [
        ...[...client, '--controllers=*,bootstrap-signer-controller,token-cleaner-controller'],
        ...['--use-service-account-credentials=true', `--root-ca-file=${file('ca.crt')}`],
        `--service-account-private-key-file=${file('accounts.key')}`,
        ...[`--cluster-signing-cert-file=${file('ca.crt')}`, `--cluster-signing-key-file=${file('ca.key')}`],
        ...['--allocate-node-cidrs=true', `--cluster-cidr=${podRange}`, '--node-cidr-mask-size=24'],
        `--service-cluster-ip-range=${serviceRange}`,
      ];
    case 'kube-scheduler':
      return client;
  }
}
