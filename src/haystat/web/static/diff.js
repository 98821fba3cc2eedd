// Where two values differ: letter by letter in short texts, word by word in long ones.

const MOST = 400; // parts beyond which a text is compared as a whole

/** Parts of both texts, [text, differs] each; a text that is mostly different is so as a whole. */
export function differences(left, right) {
  if (left === right) return [[[left, false]], [[right, false]]];
  if (!left || !right) return [[[left, false]], [[right, false]]];
  const whole = [[[left, true]], [[right, true]]];
  const long = Math.max(left.length, right.length) > 120;
  const cut = (text) => (long ? text.split(/(\s+)/) : [...text]);
  const a = cut(left), b = cut(right);
  if (Math.max(a.length, b.length) > MOST) return whole;
  const [inA, inB, n] = common(a, b);
  return 2 * n < Math.max(a.length, b.length) ? whole : [runs(a, inA), runs(b, inB)];
}

/** Which parts belong to a longest common subsequence, and how many they are. */
function common(a, b) {
  const width = b.length + 1, best = new Uint16Array((a.length + 1) * width);
  const same = (i, j) => a[i].toLowerCase() === b[j].toLowerCase();
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      best[i * width + j] = same(i, j) ? best[(i + 1) * width + j + 1] + 1 : Math.max(best[(i + 1) * width + j], best[i * width + j + 1]);
  const inA = new Uint8Array(a.length), inB = new Uint8Array(b.length);
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (same(i, j)) { inA[i] = inB[j] = a[i] === b[j] ? 1 : 0; i++; j++; }
    else if (best[(i + 1) * width + j] >= best[i * width + j + 1]) i++;
    else j++;
  }
  return [inA, inB, best[0]];
}

function runs(parts, isCommon) {
  const found = [];
  parts.forEach((text, k) => {
    const differs = !isCommon[k], last = found.at(-1);
    if (last && last[1] === differs) last[0] += text; else found.push([text, differs]);
  });
  return found;
}
