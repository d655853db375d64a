/** Stands in until the scripts are written. */
export const WRAPPER_SCRIPT = ':';
export const READ_SCRIPT = ':';
