import { expect, test } from 'vitest';
import type { TrendDay } from '../../core/executions/trend.ts';
import { trendSvg } from './trend-svg.ts';

const BAD = '#b3261e';

function days(...counts: Array<[succeeded: number, failed: number]>): TrendDay[] {
  return counts.map(([succeeded, failed], index) => ({
    day: `2026-11-${String(index + 1).padStart(2, '0')}`,
    succeeded,
    failed,
  }));
}

interface Bar {
  y: number;
  height: number;
  failed: boolean;
}

function bars(svg: string): Bar[] {
  return Array.from(
    svg.matchAll(
      /<rect x="[\d.]+" y="([\d.]+)" width="[\d.]+" height="([\d.]+)" fill="(#\w+)"\/>/g,
    ),
    ([, y, height, fill]) => ({ y: Number(y), height: Number(height), failed: fill === BAD }),
  ).filter(({ y }) => y > 60);
}

test('C12: a day is a bar as high as its commands, what failed on top of what succeeded', () => {
  const [one, two, three, ...more] = bars(
    trendSvg({ title: 't', days: days([2, 0], [4, 2], [0, 0]) }),
  );
  if (one === undefined || two === undefined || three === undefined) throw new Error('bars lack');
  expect(more).toEqual([]);
  expect([one.failed, two.failed, three.failed]).toEqual([false, false, true]);
  expect(two.height).toBeCloseTo(2 * one.height, 1);
  expect(three.height).toBeCloseTo(one.height, 1);
  expect(three.y + three.height).toBeCloseTo(two.y, 1);
  expect(one.y + one.height).toBeCloseTo(two.y + two.height, 1);
});

test('C12: sums and the days at both ends stand in words', () => {
  const svg = trendSvg({ title: 'Commands', days: days([2, 0], [4, 3]) });
  for (const words of ['Commands', '6 succeeded', '3 failed', '1 Nov', '2 Nov'])
    expect(svg).toContain(`>${words}</text>`);
});

test('the scale has whole numbers only, whatever there is', () => {
  for (const most of [0, 1, 2, 3, 7, 12_345]) {
    const svg = trendSvg({ title: 't', days: days([most, 0]) });
    const ticks = Array.from(svg.matchAll(/text-anchor="end"[^>]*>([^<]+)</g), (match) => match[1]);
    expect(ticks.slice(0, -1).every((tick) => Number.isInteger(Number(tick)))).toBe(true);
    expect(svg).not.toContain('NaN');
  }
});

test('Z2, C15: a title is words, whatever it holds', () => {
  const svg = trendSvg({ title: '</text><script>x</script>\u202e"&', days: days([1, 0]) });
  expect(svg).not.toContain('<script>');
  expect(svg).toContain('&lt;/text&gt;&lt;script&gt;x&lt;/script&gt;‹U+202E›');
});
