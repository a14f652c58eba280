// A Kubernetes cluster as operations see it: its nodes, and how a node is emptied and returned to service.
import type { BudgetBlocker } from '../../domain/drain/budgets.ts';
import type { DrainPlan, DrainRules } from '../../domain/drain/rules.ts';
import type { KubeNode, Pod } from '../../domain/kube/objects.ts';
import type { KubeCall } from './api.ts';

export interface CordonResult {
  /** The node object that was cordoned: one with the same name and another uid is another node. */
  readonly uid: string;
  /** `false` if the node was unschedulable before, by another user's decision that stays in effect. */
  readonly wasSchedulable: boolean;
}

/**
 * `kept`: another user has cordoned the node before or since, so it stays unschedulable. `replaced`: the node object is
 * another one, which is not changed.
 */
export type UncordonResult = 'schedulable' | 'kept' | 'replaced';

export interface DrainOptions extends DrainRules, KubeCall {
  /** The limit for all evictions and for the pods to terminate. */
  readonly timeoutMs: number;
  /** Sent with each eviction. Defaults to each pod's own grace period. */
  readonly gracePeriodSeconds?: number | undefined;
  /** Deletes pods instead of evicting them, past all disruption budgets. Defaults to `false`. */
  readonly disableEviction?: boolean;
  /** The pause before an eviction that a budget refused is sent again. Defaults to 5 s, as kubectl has it. */
  readonly retryMs?: number;
  readonly progress?: (event: DrainEvent) => void;
}

export interface DrainEvent {
  readonly pod: string;
  readonly state: 'evicting' | 'waiting' | 'gone';
  /** Why the pod is still on the node. */
  readonly reason?: string;
}

export interface DrainPreview {
  readonly plan: DrainPlan;
  readonly blockers: readonly BudgetBlocker[];
}

export interface DrainResult {
  readonly evicted: readonly string[];
  readonly kept: readonly string[];
  /** Pods that the rules would evict and that came to the node after the drain had listed its pods. */
  readonly arrived: readonly string[];
}

/** What `kubectl get nodes -L` shows of a node, and what its object says besides. */
export interface NodeMarks {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface Cluster {
  /** The version of the API server, such as `v1.36.3`. Throws `cluster-version-unsupported` if it is too old. */
  version(call?: KubeCall): Promise<string>;
  nodes(call?: KubeCall): Promise<readonly KubeNode[]>;
  /** Returns `undefined` if there is no node with this name. */
  node(name: string, call?: KubeCall): Promise<KubeNode | undefined>;
  /**
   * Makes the node unschedulable in the name of `owner`, such as an operation. A second call with the same owner has no
   * effect and returns the same result. Throws `node-not-found`.
   */
  cordon(name: string, owner: string, call?: KubeCall): Promise<CordonResult>;
  /** Restores the node's state from before `cordon`. A second call has no effect. Throws `node-not-found`. */
  uncordon(
    name: string,
    cordoned: { readonly owner: string; readonly uid: string },
    call?: KubeCall,
  ): Promise<UncordonResult>;
  /** Returns what a drain would do, and which budgets would block it. Changes nothing. */
  previewDrain(name: string, rules: DrainRules & KubeCall): Promise<DrainPreview>;
  /**
   * Evicts the pods of a node that is already cordoned, by kubectl's rules, and waits until they no longer exist.
   * Running it again continues with the pods that are left. Throws `drain-blocked` before anything is evicted if a rule
   * refuses a pod, `drain-failed` if the API server refuses an eviction permanently, and `drain-timeout`.
   */
  drain(name: string, options: DrainOptions): Promise<DrainResult>;
  /** Sets these labels and annotations; others stay. Has no effect if there is no such node. */
  markNode(name: string, marks: NodeMarks, call?: KubeCall): Promise<void>;
  /** Deletes the node object with this uid. A second call has no effect. */
  deleteNode(name: string, uid: string, call?: KubeCall): Promise<void>;
  /** Returns the pods that a drain would still have to evict, for a last check before the node is stopped. */
  podsLeft(name: string, rules: DrainRules & KubeCall): Promise<readonly Pod[]>;
}
