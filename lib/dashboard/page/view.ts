import type { VNode } from 'preact';

/** What a component draws. */
export type View = VNode | VNode[];
