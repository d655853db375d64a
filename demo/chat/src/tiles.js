/**
 * What Hydrogen's timeline lacks for this chat: a message that was edited shows its newest text (Hydrogen would show each
 * edit as a message of its own), messages that follow each other in a thread quote its root once, not each time, and a
 * room's new names, which its head shows anyway, do not stand between the messages.
 */
import { TextTile, tileClassForEntry } from 'hydrogen-view-sdk';

/** The newest edit by the id of the edited event and by who sent it: only who wrote a message can change it. */
const edits = new Map();
/** The tiles that are shown, by the id of their event. */
const shown = new Map();
/** Each of Hydrogen's tile classes, taught to remember the tile before it. */
const linked = new Map();
/** The tile before a tile. */
const before = new WeakMap();

/** Chooses how an event is shown; `undefined`: not at all. */
export function tileClass(entry, options) {
  if (isEdit(entry)) {
    remember(entry.relatedEventId, entry);
    return undefined;
  }
  if (isRenaming(entry)) return undefined;
  const Tile = tileClassForEntry(entry, options);
  if (Tile === undefined) return undefined;
  return Tile === TextTile ? MessageTile : linkedTile(Tile);
}

function isEdit(entry) {
  return (
    !entry.isGap && entry.eventType === 'm.room.message' && entry.relation?.rel_type === 'm.replace'
  );
}

function isRenaming(entry) {
  return !entry.isGap && entry.eventType === 'm.room.name' && entry.prevContent?.name !== undefined;
}

function remember(eventId, { sender, timestamp, content }) {
  const bySender = edits.get(eventId) ?? new Map();
  const known = bySender.get(sender);
  if (known !== undefined && known.timestamp > timestamp) return;
  edits.set(
    eventId,
    bySender.set(sender, { sender, timestamp, content: content['m.new_content'] }),
  );
  for (const tile of shown.get(eventId) ?? []) tile.emitChange('body');
}

/** The newest edit as the homeserver sent it along with an old event that was fetched alone. */
function bundledEdit(entry) {
  const event = entry.event?.unsigned?.['m.relations']?.['m.replace'];
  if (event?.content === undefined) return undefined;
  return { sender: event.sender, content: event.content['m.new_content'] };
}

function threadOf(entry) {
  const relation = entry.relation;
  return relation?.rel_type === 'm.thread' ? relation.event_id : undefined;
}

function linkedTile(Tile) {
  let Linked = linked.get(Tile);
  if (Linked === undefined) {
    Linked = class extends Tile {
      updatePreviousSibling(previous) {
        super.updatePreviousSibling(previous);
        before.set(this, previous);
      }
    };
    linked.set(Tile, Linked);
  }
  return Linked;
}

/** The nearest message above a tile, past all that is none. */
function messageBefore(tile) {
  let one = tile;
  while (one !== undefined && !(one instanceof TextTile)) one = before.get(one);
  return one;
}

class MessageTile extends TextTile {
  constructor(entry, options) {
    super(entry, options);
    this._followsInThread = false;
    const tiles = shown.get(entry.id) ?? new Set();
    shown.set(entry.id, tiles.add(this));
  }

  dispose() {
    const tiles = shown.get(this._entry.id);
    tiles?.delete(this);
    if (tiles?.size === 0) shown.delete(this._entry.id);
    super.dispose();
  }

  _getContent() {
    const { id, sender } = this._entry;
    const edit = edits.get(id)?.get(sender) ?? bundledEdit(this._entry);
    // Servers see to it as well, but not for events that came one by one.
    if (edit === undefined || edit.sender !== sender) return super._getContent();
    return edit.content ?? super._getContent();
  }

  updatePreviousSibling(previous) {
    super.updatePreviousSibling(previous);
    const thread = threadOf(this._entry);
    const above = messageBefore(previous)?._entry;
    const follows =
      thread !== undefined &&
      this._entry.relation.is_falling_back === true &&
      // Above the first message that is loaded there is nothing to tell it from.
      (above === undefined || above.id === thread || threadOf(above) === thread);
    if (follows !== this._followsInThread) {
      this._followsInThread = follows;
      this.emitChange('replyTile');
    }
  }

  get isReply() {
    return !this._followsInThread && super.isReply;
  }

  get replyTile() {
    return this._followsInThread ? null : super.replyTile;
  }
}
