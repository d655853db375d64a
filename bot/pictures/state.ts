/** How a node of a picture looks: what the picture is about, how near to it, or what a task did to it. */
export type Tone = 'subject' | 'near' | 'far' | 'plain' | 'good' | 'bad';

/** A thing in a picture of the fleet graph. Texts are as they came: whoever draws escapes them. */
export interface PictureNode {
  readonly slug: string;
  readonly name: string;
  readonly type: string;
  /** A word below the name where something is unusual: `stopped`, `failed`. */
  readonly note?: string | undefined;
  readonly tone: Tone;
}

/** A relation in a picture. `dependent`: the side that suffers when the other fails. */
export interface PictureEdge {
  readonly source: string;
  readonly target: string;
  readonly type: string;
  readonly dependent: 'source' | 'target' | 'none';
}

/** A picture of a part of the fleet graph. */
export interface GraphPicture {
  readonly title: string;
  readonly nodes: readonly PictureNode[];
  readonly edges: readonly PictureEdge[];
  /** How many things belong to it and are not drawn. */
  readonly leftOut: number;
}

/** A finished picture. */
export interface Png {
  readonly bytes: Uint8Array;
  /** In pixels. */
  readonly width: number;
  readonly height: number;
}

/** Most nodes of a picture: more cannot be read on a phone. */
export const MAX_NODES = 14;
