-- The grid of everything that should have been scored, each place with its cell or the reason why there is none.

CREATE TABLE grid AS
WITH places AS (
    SELECT item_id, image_id, dataset, k, answer, corruption, family, severity
    FROM items CROSS JOIN corruptions CROSS JOIN severities
)
SELECT places.*, clean, image AS corrupted,
       CASE
           WHEN answer IS NULL THEN 'no_gold'
           WHEN clean.item_id IS NULL THEN 'clean_missing'
           WHEN clean.reason IS NOT NULL OR NOT clean.usable THEN 'clean_not_scored'
           WHEN image.item_id IS NULL THEN 'missing'
           WHEN image.reason IS NOT NULL OR NOT image.usable THEN 'not_scored'
       END AS aside,
       CASE aside
           WHEN 'no_gold' THEN 'the item has no gold answer'
           WHEN 'clean_missing' THEN 'the clean image has no score rows'
           WHEN 'clean_not_scored' THEN 'clean: ' || coalesce(clean.reason, 'score is not finite')
           WHEN 'missing' THEN 'the corrupted image has no score rows'
           WHEN 'not_scored' THEN coalesce(image.reason, 'score is not finite')
       END AS aside_reason
FROM places
LEFT JOIN answers AS clean ON clean.item_id = places.item_id AND clean.corruption = 'clean'
LEFT JOIN answers AS image ON image.item_id = places.item_id AND image.corruption = places.corruption
     AND image.severity = places.severity
ORDER BY places.item_id, places.corruption, places.severity;

CREATE TABLE set_aside AS
SELECT getvariable('model') AS model, item_id, corruption, severity, aside AS code, aside_reason AS reason
FROM grid WHERE aside IS NOT NULL
ORDER BY item_id, corruption, severity;

-- Robustness Alignment Score: arXiv 2511.19032. letter_mass and tied stay out of the cells artifact.
CREATE TABLE measured AS
WITH paired AS (
    SELECT getvariable('model') AS model, item_id, image_id, dataset, corruption, family, severity,
           clean.correct AS correct_clean, corrupted.correct AS correct,
           if(correct_clean, 'c', 'w') || if(correct, 'c', 'w') AS state,
           clean.entropy AS entropy_clean, corrupted.entropy AS entropy,
           clean.misalignment AS misalignment_clean, corrupted.misalignment AS misalignment,
           corrupted.entropy - clean.entropy AS delta_s,
           corrupted.misalignment - clean.misalignment AS delta_c,
           clean.confidence AS confidence_clean, corrupted.confidence AS confidence,
           clean.brier AS brier_clean, corrupted.brier AS brier,
           clean.nll AS nll_clean, corrupted.nll AS nll,
           clean.letter_mass AS letter_mass_clean, corrupted.letter_mass AS letter_mass,
           clean.tied AS tied_clean, corrupted.tied AS tied
    FROM grid WHERE aside IS NULL
)
SELECT *,
       -delta_c - greatest(delta_c, 0) * greatest(-delta_s, 0) - greatest(-delta_c, 0) * greatest(delta_s, 0) + 0.0
           AS ras
FROM paired
ORDER BY item_id, corruption, severity;
