// Runs in the page: what was just opened or pressed is measured while a frame is painted and marked in the next one, however long a loaded
// machine takes for them.
export const painted = async () => {
  for (let i = 0; i < 6; i++) await new Promise(requestAnimationFrame);
};
