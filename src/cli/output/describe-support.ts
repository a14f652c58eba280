// Until when a version is supported, in one line: the day, how far it is, and who says so.
import type { AnswerOf } from '../../api/contract/types.ts';

type Support = NonNullable<AnswerOf<'showVersion'>['support']>;

export function describeSupport({ endsOn, daysLeft, by, source, note, setBy }: Support): string {
  const said =
    source === 'calendar' ? `by the calendar of ${by}` : `set for ${by}${setBy ? ` by ${setBy}` : ''}`;
  const when = daysLeft < 0 ? `ended on ${endsOn}` : `ends on ${endsOn}`;
  return `${when}, ${distance(daysLeft)} (${said}${note === undefined ? '' : `: ${note}`})`;
}

function distance(daysLeft: number): string {
  if (daysLeft === 0) return 'today';
  const days = Math.abs(daysLeft) === 1 ? '1 day' : `${Math.abs(daysLeft)} days`;
  return daysLeft < 0 ? `${days} ago` : `${days} left`;
}
