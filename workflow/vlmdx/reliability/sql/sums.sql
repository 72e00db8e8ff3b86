-- Sums per image within every scope: each metric of the summary is a ratio of two of these columns, so values and
-- bootstrap intervals come from the same numbers. Ratios: vlmdx/reliability/summary.py.

CREATE VIEW scoped AS
SELECT 'all' AS scope, 'all' AS level, * FROM measured
UNION ALL SELECT 'family', family, * FROM measured
UNION ALL SELECT 'corruption', corruption, * FROM measured
UNION ALL SELECT 'severity', severity::VARCHAR, * FROM measured;

CREATE TABLE cell_sums AS
SELECT scope, level, image_id,
       count(*) AS cells,
       sum(correct_clean::INT) AS correct_clean,
       sum(correct::INT) AS correct,
       sum(correct::INT - correct_clean::INT) AS correct_change,
       sum(delta_s) AS delta_s,
       sum(delta_c) AS delta_c,
       sum(ras) AS ras,
       count(*) FILTER (correct_clean) AS right_cells,
       count(*) FILTER (NOT correct_clean) AS wrong_cells,
       sum(ras) FILTER (correct_clean) AS ras_right,
       sum(ras) FILTER (NOT correct_clean) AS ras_wrong,
       count(*) FILTER (state = 'cc') AS cells_cc,
       count(*) FILTER (state = 'cw') AS cells_cw,
       count(*) FILTER (state = 'wc') AS cells_wc,
       count(*) FILTER (state = 'ww') AS cells_ww,
       sum(ras) FILTER (state = 'cc') AS ras_cc,
       sum(ras) FILTER (state = 'cw') AS ras_cw,
       sum(ras) FILTER (state = 'wc') AS ras_wc,
       sum(ras) FILTER (state = 'ww') AS ras_ww,
       count(*) FILTER (state = 'cc' AND ras < 0) AS silent_cells,
       sum(ras) FILTER (state = 'cc' AND ras < 0) AS silent_ras,
       sum(brier_clean) AS brier_clean,
       sum(brier) AS brier,
       sum(nll_clean) AS nll_clean,
       sum(nll) AS nll,
       sum(tied_clean::INT) AS tied_clean,
       sum(tied::INT) AS tied,
       count(tied_clean) AS cells_tied_clean,
       count(tied) AS cells_tied,
       count(letter_mass_clean) AS cells_letter_clean,
       sum(letter_mass_clean) AS letter_mass_clean,
       count(letter_mass) AS cells_letter,
       sum(letter_mass) AS letter_mass,
       count(*) FILTER (letter_mass < getvariable('letter_mass_min')) AS letter_mass_low
FROM scoped
GROUP BY scope, level, image_id
ORDER BY scope, level, image_id;

-- Severity is the axis of a trajectory, hence no scope for it.
CREATE TABLE path_sums AS
WITH scoped_paths AS (
    SELECT 'all' AS scope, 'all' AS level, * FROM trajectories
    UNION ALL SELECT 'family', family, * FROM trajectories
    UNION ALL SELECT 'corruption', corruption, * FROM trajectories
)
SELECT scope, level, image_id,
       count(*) AS paths,
       count(*) FILTER (kind = 'transient') AS transient,
       count(*) FILTER (kind = 'persistent') AS persistent,
       count(onset) AS changed,
       sum(onset) AS onset,
       sum(flips) AS flips
FROM scoped_paths
GROUP BY scope, level, image_id
ORDER BY scope, level, image_id;

-- Calibration error, Guo et al. 2017 (arXiv 1706.04599): equal-width bins, closed on the right.
CREATE TABLE bin_sums AS
WITH phases AS (
    SELECT scope, level, image_id, 'ece_clean' AS metric, confidence_clean AS confidence, correct_clean AS correct
    FROM scoped
    UNION ALL SELECT scope, level, image_id, 'ece_corrupted', confidence, correct FROM scoped
)
SELECT scope, level, image_id, metric,
       greatest(ceil(confidence * getvariable('ece_bins'))::INT - 1, 0) AS bin,
       sum(correct::INT - confidence) AS gap
FROM phases
GROUP BY scope, level, image_id, metric, bin
ORDER BY scope, level, image_id, metric, bin;
