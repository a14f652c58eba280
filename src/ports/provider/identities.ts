// Recognizes the nodes of pools by the tokens of their managed identities.

export interface KnownNode {
  readonly pool: string;
  readonly node: string;
}

export interface Identities {
  /**
   * Returns the node that holds the token; `undefined` if the token is not valid now, is for another resource, or the
   * config of the node does not name the resource.
   */
  identify(token: string, resource: string): KnownNode | undefined;
}
