import { describe, expect, it } from 'vitest';
import { checkKeys } from './change.ts';

describe('what may be written down about an entity', () => {
  it.each(['address', 'ssh_port', 'ssh_user', 'host', 'pve_id', 'tags', 'url'])(
    'X12, P6, Z6: %s decides where commands and checks go or which rules hold, so it is not among it',
    (key) => {
      expect(() => checkKeys(['nginx_version', key])).toThrow(
        expect.objectContaining({ code: 'attribute_reserved' }),
      );
    },
  );

  it('K8: what was found is', () => {
    expect(() => checkKeys(['nginx_version', 'ports', 'unit', 'lan_address'])).not.toThrow();
    expect(() => checkKeys(['Nginx Version'])).toThrow(
      expect.objectContaining({ code: 'attribute_key_invalid' }),
    );
  });
});
