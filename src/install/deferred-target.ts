// What a node starts once it is ready: the image build puts units there, the agent starts it.

export const lateTarget = 'imago-late.target';
